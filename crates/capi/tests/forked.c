/*
 * What a process that was forked may still ask: a child of one in which the library has worked is refused, and never waits for threads
 * or locks that only its parent has; a child of one in which it has not works by itself. It ends with 0 if all is so, and is killed by
 * its alarm if a call does not come back.
 */

#define _POSIX_C_SOURCE 200809L

#include <sparsight.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 300 };

static const int32_t row_ptr[] = {0, 2, 3}, col_idx[] = {0, 1, 1};
static const double values[] = {1.0, 2.0, 3.0}, x[] = {1.0, 1.0};

static ss_profile *profile;
static ss_plan *plan;
static ss_device *device;
static ss_op *op;

static void check(int is_right, const char *what)
{
    if (!is_right) {
        fprintf(stderr, "%s: %s (%s)\n", what, ss_last_error(), ss_last_hint());
        _exit(1);
    }
}

#define CHECK(call) check((call) == SS_OK, #call)
#define REFUSED(call) check((call) == SS_DEVICE && strstr(ss_last_error(), "forked") != NULL, #call)

static void work(void)
{
    double y[2];
    int64_t count, i = 0;
    int code = SS_INFEASIBLE;
    CHECK(ss_profile_open("cpu", &profile));
    CHECK(ss_plan_csr(profile, 2, 2, row_ptr, SS_I32, col_idx, SS_I32, SS_F64, 0, &plan));
    CHECK(ss_device_open("cpu", &device));
    CHECK(ss_plan_count(plan, &count));
    for (; i < count && code == SS_INFEASIBLE; ++i) code = ss_prepare(plan, i, device, values, &op);
    check(code == SS_OK, "ss_prepare");
    CHECK(ss_multiply_host(op, 1.0, x, 0.0, y));
    check(y[0] == 3.0 && y[1] == 3.0, "y");
}

static void free_all(void)
{
    ss_op_free(op);
    ss_plan_free(plan);
    ss_device_free(device);
    ss_profile_free(profile);
}

/* The child of a process that has worked, with all that its parent has. */
static void be_refused(void)
{
    ss_profile *another;
    ss_plan *second;
    ss_device *cpu;
    ss_op *other;
    double y[2];
    uint64_t bytes;
    int64_t count;

    /* Questions that need no device are answered. */
    CHECK(ss_plan_count(plan, &count));
    CHECK(ss_memory_bytes(op, &bytes));
    CHECK(ss_profile_open("nvidia-h100", &another));
    ss_profile_free(another);

    /* NULL and a GPU ask the driver. */
    REFUSED(ss_profile_open(NULL, &another));
    REFUSED(ss_profile_open("cuda:0", &another));
    REFUSED(ss_plan_csr(profile, 2, 2, row_ptr, SS_I32, col_idx, SS_I32, SS_F64, 0, &second));
    REFUSED(ss_device_open("cpu", &cpu));
    check(another == NULL && second == NULL && cpu == NULL, "a handle of a call that was refused");
    REFUSED(ss_prepare(plan, 0, device, values, &other));
    REFUSED(ss_multiply_host(op, 1.0, x, 0.0, y));
    REFUSED(ss_multiply(op, 1.0, x, 0.0, y, NULL));
    REFUSED(ss_update_values_host(op, values));
    REFUSED(ss_update_values(op, values, NULL));
    free_all();
}

static void in_a_child(void (*call)(void), const char *what)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        call();
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "a child that was to %s has failed\n", what);
        exit(1);
    }
}

int main(void)
{
    alarm(2 * SECONDS);
    in_a_child(work, "work");
    work();
    in_a_child(be_refused, "be refused");
    /* Nothing has happened to the parent by that. */
    double y[2];
    CHECK(ss_multiply_host(op, 1.0, x, 0.0, y));
    free_all();
    printf("a forked child is refused\n");
    return 0;
}
