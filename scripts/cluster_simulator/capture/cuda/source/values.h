/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What collectives do to the bytes of buffers.
 */
#ifndef CUDA_VALUES_H
#define CUDA_VALUES_H

#include <cstddef>
#include <vector>

namespace gpus
{

/// Bytes of an element of NCCL's data types; 0: there is no such type.
std::size_t TypeBytes(int type);

/// An element, as a number.
double Number(int type, const void* at);

enum class Reduction
{
    kSum,
    kProd,
    kMax,
    kMin,
    kAvg ///< the sum over the number of ranks
};

/// Element by element, in the order of the sources, into all targets, which may be sources as well.
/// `scales`: what each source is multiplied with before; empty: nothing. Two-byte and one-byte
/// floating-point numbers are added up in float and rounded to the nearest in the end.
void Reduce(int type,
            Reduction how,
            const std::vector<double>& scales,
            const std::vector<const char*>& sources,
            const std::vector<char*>& targets,
            std::size_t count);

} // namespace gpus

#endif // CUDA_VALUES_H
