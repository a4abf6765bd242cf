/*
 * The minimal component with something in a constructor, which the compiler's
 * arguments give: -DCONSTRUCTOR='abort();'
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

#include "minimal.c"

__attribute__((constructor)) static void constructor(void) { CONSTRUCTOR }
