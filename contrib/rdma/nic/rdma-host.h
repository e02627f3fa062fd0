/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_HOST_H
#define RDMA_HOST_H

#include "ns3/node.h"
#include "ns3/object.h"

#include <cstdint>
#include <vector>

namespace ns3
{

class RdmaNic;

/**
 * \ingroup rdma
 * The NICs of a node, so that configuration paths reach them, however many there are (a node can
 * aggregate one object of a kind only):
 *
 *     /NodeList/3/$ns3::RdmaHost/NicList/0/Completion
 *
 * NICs are in the order in which they were attached: RdmaFabricHelper's in that of their ports.
 */
class RdmaHost : public Object
{
  public:
    static TypeId GetTypeId();

    /// \return that of a node; made and aggregated to it at the first call
    static Ptr<RdmaHost> Of(Ptr<Node> node);

    void Add(Ptr<RdmaNic> nic);

    uint32_t GetNNics() const
    {
        return static_cast<uint32_t>(m_nics.size());
    }

    Ptr<RdmaNic> GetNic(uint32_t index) const
    {
        return m_nics[index];
    }

  protected:
    void DoDispose() override;

  private:
    std::vector<Ptr<RdmaNic>> m_nics;
};

} // namespace ns3

#endif /* RDMA_HOST_H */
