/*
 * Says what is answered where the first GPU has no profile: NULL stands for another one, and its name lets it be calibrated.
 */

#include <sparsight.h>
#include <stdio.h>

int main(void)
{
    ss_profile *profile;
    int code = ss_profile_open(NULL, &profile);
    printf("NULL: code %d\n", code);
    ss_profile_free(profile);

    code = ss_profile_open("cuda:0", &profile);
    printf("cuda:0: code %d: %s\nhint: %s\n", code, ss_last_error(), ss_last_hint());
    ss_profile_free(profile);
    return 0;
}
