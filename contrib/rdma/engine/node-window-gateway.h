/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOW_GATEWAY_H
#define NODE_WINDOW_GATEWAY_H

#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * The way of frames to one other process (NodeWindowRanks), between windows.
 */
class NodeWindowGateway
{
  public:
    virtual ~NodeWindowGateway() = default;

    /// \return the other process
    virtual uint32_t GetRank() const = 0;
    /// From now on frames wait for TakeSent.
    virtual void UseWindows() = 0;
    /// \return the tick at which the first frame that waits for a node of that side may be there;
    /// INT64_MAX: none waits
    virtual int64_t GetFirstArrival(uint32_t side) const = 0;
    /// Moves all frames that wait behind what is in `to`.
    virtual void TakeSent(std::vector<uint8_t>& to) = 0;
    /// Takes the bytes that the other gateway's TakeSent has made.
    virtual void TakeReceived(const uint8_t* at, const uint8_t* end) = 0;
};

} // namespace ns3

#endif /* NODE_WINDOW_GATEWAY_H */
