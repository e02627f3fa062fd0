/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PATH_SOURCE_H
#define RDMA_PATH_SOURCE_H

#include "ns3/rdma-frame.h"

#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * Where the subnet decides how packets go: InfiniBand's path records (InfiniBand Architecture 1,
 * 15.2.5.16), as the communication manager asks the subnet's administration for them.
 */
class RdmaPathSource
{
  public:
    struct Path
    {
        RdmaRoute route{RdmaRoute::None()};
        uint8_t serviceLevel{0};
        uint8_t lane{0};     //!< VL at the sender's port
        uint64_t rateBps{0}; //!< static rate: most that a queue pair sends at; 0: as its port
    };

    virtual ~RdmaPathSource() = default;
    /// \param serviceLevel asked for \param entropy chooses among several paths: the same one gives
    /// the same path
    virtual Path GetPath(uint32_t from,
                         uint32_t to,
                         uint8_t serviceLevel,
                         uint32_t entropy) const = 0;
};

} // namespace ns3

#endif /* RDMA_PATH_SOURCE_H */
