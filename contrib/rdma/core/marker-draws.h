/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Random numbers of one port's marker: a counter in steps of 2^64 over the golden ratio, mixed, as
 * a switch's own draws for ECN. Each port draws for itself, so what passes at others changes
 * nothing here.
 */
#ifndef RDMA_CORE_MARKER_DRAWS_H
#define RDMA_CORE_MARKER_DRAWS_H

#include "contrib/rdma/core/flow-hash.h"

#include <cstdint>

namespace rdma
{

class MarkerDraws
{
  public:
    explicit MarkerDraws(uint64_t seed = 0)
        : m_state(seed)
    {
    }

    /// Uniform in [0, 1).
    double Next()
    {
        m_state += 0x9e3779b97f4a7c15ULL;
        return static_cast<double>(Mix64(m_state) >> 11) * 0x1p-53;
    }

  private:
    uint64_t m_state;
};

} // namespace rdma

#endif // RDMA_CORE_MARKER_DRAWS_H
