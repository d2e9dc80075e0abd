/*
 * Predicted times of the first candidate: with the profile of a GPU, with that GPU, which is here, and with the profile again.
 */

#include <sparsight.h>
#include <stdio.h>

#define ROWS 3000

static double first_s(const char *name)
{
    static int64_t row_ptr[ROWS + 1];
    static int32_t col_idx[ROWS];
    ss_profile *profile = NULL;
    ss_plan *plan = NULL;
    double time_s = -1, low_s, high_s;

    for (int i = 0; i < ROWS; ++i) {
        row_ptr[i + 1] = i + 1;
        col_idx[i] = i;
    }
    if (ss_profile_open(name, &profile)
        || ss_plan_csr(profile, ROWS, ROWS, row_ptr, SS_I64, col_idx, SS_I32, SS_F64, 0, &plan)
        || ss_plan_predicted_s(plan, 0, &time_s, &low_s, &high_s)) {
        printf("%s: %s\n", name, ss_last_error());
    }
    ss_plan_free(plan);
    ss_profile_free(profile);
    return time_s;
}

int main(void)
{
    printf("%.9f\n", 1e6 * first_s("nvidia-h200"));
    printf("%.9f\n", 1e6 * first_s("cuda:0"));
    printf("%.9f\n", 1e6 * first_s("nvidia-h200"));
    return 0;
}
