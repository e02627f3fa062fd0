/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Two bytes of storage: programs that run on simulated GPUs compute nothing with it.
 */
#ifndef CUDA_FP16_H
#define CUDA_FP16_H

typedef struct __half
{
    unsigned short x;
} __half;

typedef __half half;

#endif /* CUDA_FP16_H */
