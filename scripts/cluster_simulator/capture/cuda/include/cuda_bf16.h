/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Two bytes of storage: programs that run on simulated GPUs compute nothing with it.
 */
#ifndef CUDA_BF16_H
#define CUDA_BF16_H

typedef struct __nv_bfloat16
{
    unsigned short x;
} __nv_bfloat16;

typedef __nv_bfloat16 nv_bfloat16;

#endif /* CUDA_BF16_H */
