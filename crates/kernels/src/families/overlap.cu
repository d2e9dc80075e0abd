// Two launches of one product that overlap: the second begins, reads the matrix and multiplies while the first still
// writes y, and waits for it only before it touches y itself (programmatic dependent launch). On a GPU without it
// (before compute capability 9.0), and when the second is launched as usual, both calls do nothing: the second launch
// begins when the first has ended.
//
// The second launch must not be followed by a third that overlaps: `wait_for_launch_before` waits for one launch.

// In the first launch: the next one may begin.
static __device__ __forceinline__ void let_next_launch_begin()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// In the second launch, before y is read or written: what the first has written is there.
static __device__ __forceinline__ void wait_for_launch_before()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
