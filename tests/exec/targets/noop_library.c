/* SPDX-License-Identifier: MIT
 *
 * A library that does nothing: stands for what else a user may have in LD_PRELOAD.
 */
extern int metalrun_test_noop_library;
int metalrun_test_noop_library = 1;
