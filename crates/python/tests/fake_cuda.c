/* As much of the driver as it takes to find a GPU and to open it: what comes before the first kernel is compiled. It is called
   "Fake GPU", which has no profile. */
#include <stddef.h>
#include <stdio.h>

int cuInit(unsigned flags) { (void)flags; return 0; }
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int index) { *device = index; return 0; }
int cuDeviceGetName(char *name, int length, int device) {
    (void)device;
    snprintf(name, (size_t)length, "Fake GPU");
    return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = (size_t)8 << 30; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    switch (attribute) {
        case 1: *value = 1024; break;       /* threads a block */
        case 10: *value = 32; break;        /* a warp */
        case 16: *value = 16; break;        /* multiprocessors */
        case 39: *value = 2048; break;      /* threads a multiprocessor */
        case 75: *value = 9; break;         /* compute capability */
        case 38: *value = 4 << 20; break;   /* L2 */
        default: *value = 0;
    }
    return 0;
}

static void *current;
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = &current + 1 + device; return 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { (void)device; return 0; }
int cuCtxGetId(void *context, unsigned long long *id) {
    *id = (size_t)(context ? context : current);
    return *id ? 0 : 201;
}
int cuCtxPushCurrent_v2(void *context) { current = context; return 0; }
int cuCtxPopCurrent_v2(void **context) { *context = current; current = NULL; return 0; }
int cuStreamCreate(void **stream, unsigned flags) { (void)flags; *stream = &current; return 0; }
int cuStreamSynchronize(void *stream) { (void)stream; return 0; }
int cuStreamDestroy_v2(void *stream) { (void)stream; return 0; }
