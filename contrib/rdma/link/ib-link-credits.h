/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IB_LINK_CREDITS_H
#define IB_LINK_CREDITS_H

#include "contrib/rdma/core/ib/ib-credits.h"
#include "contrib/rdma/core/ib/ib-vl-arbiter.h"

#include <array>
#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * What the ports of an InfiniBand fabric have in common.
 */
struct IbPortConfig
{
    uint8_t lanes{1};            //!< data VLs: 1, 2, 4 or 8
    uint32_t bufferBlocks{2048}; //!< receive buffer of a VL, 64 B each; at most 2,048 (7.9.4.3),
                                 //!< shifted by creditShift
    uint32_t creditShift{0};     //!< credit blocks on the wire are of 64 x 2^this bytes
    uint32_t updateBlocks{512};  //!< blocks freed until the peer is told at once
    int64_t updatePeriodPs{0};   //!< and of fewer after this time: 65,536 symbol times at most
    bool adapter{false};         //!< of a channel adapter, not of a switch
    bool consumes{false};        //!< what has arrived leaves the buffer at once
    rdma::IbVlArbitration arbitration; //!< tables of high and low priority
};

/**
 * \ingroup rdma
 * Credits of a port of an InfiniBand link (InfiniBand Architecture 1, 7.9), both directions, by VL.
 *
 * A sender starts a packet only if the receiver's buffer of that VL has room for it, as far as the
 * flow-control packets have told; so nothing is ever dropped for want of a buffer. The receiver
 * counts a packet's blocks when it comes, and gives them back when it has left on the other side of
 * the switch, or at once in a channel adapter.
 *
 * When a flow-control packet is sent is left to the port by the architecture, but for the longest
 * time between two. Here: as soon as updateBlocks have become free, else updatePeriodPs after the
 * first of them did (assumed). One that says what the last one said is not sent, so that nothing is
 * scheduled while nothing moves; on the line they would take some 0.01% of the time.
 */
struct IbLinkCredits
{
    static constexpr uint32_t LANES = 8;
    /// On a link with bit errors, how often the same is said again when nothing new is to be said
    /// (assumed; the architecture, 7.9.4, has it said for ever): one in 100 lost, the last word is
    /// not heard once in 10^34.
    static constexpr uint32_t REPEATS = 16;

    /// Blocks of a packet that is on its way out of the switch.
    struct Leaving
    {
        int64_t at{0}; //!< when it has left, ps
        uint32_t blocks{0};
    };

    /// What every packet touches comes first, in one cache line.
    struct alignas(64) Lane
    {
        rdma::IbCreditSender sender;
        rdma::IbCreditReceiver receiver;
        /// Blocks free, or free soon (`leaving`), that the peer does not know of.
        uint32_t untold{0};
        uint32_t updateBlocks{512}; //!< as the port's, and so `consumes`
        bool consumes{false};
        bool updateQueued{false};    //!< a flow-control packet waits for the transmitter
        bool updateScheduled{false}; //!< it will, at updateAt, once what leaves has left
        Leaving leaving;             //!< the last one, which may have left
        std::vector<Leaving> before; //!< those before it that have not left when it came
        int64_t updateAt{0};         //!< ps
        uint32_t repeats{0};         //!< to go
        uint16_t toldFctbs{0};
        uint16_t toldFccl{0};
        int64_t stalledUntil{-1}; //!< when it last had too few credits, ps

        void Leave(int64_t at, uint32_t blocks, int64_t now)
        {
            if (leaving.at <= now)
            {
                receiver.OnFreed(leaving.blocks);
            }
            else
            {
                before.push_back(leaving);
            }
            leaving = {at, blocks};
        }

        /// What has left is free. \return blocks that have not
        uint32_t FreeLeft(int64_t now);

        /// \return blocks that are free or will be, as far as nobody has looked
        uint32_t GetLeaving() const;
    };

    explicit IbLinkCredits(const IbPortConfig& port)
        : config(port),
          arbiter(port.arbitration),
          hasOneLane(port.lanes == 1)
    {
        for (Lane& lane : lanes)
        {
            lane.sender = rdma::IbCreditSender(port.creditShift);
            lane.receiver = rdma::IbCreditReceiver(port.bufferBlocks, port.creditShift);
            lane.updateBlocks = port.updateBlocks;
            lane.consumes = port.consumes;
            lane.before.reserve(16);
        }
    }

    IbPortConfig config;
    rdma::IbVlArbiter arbiter;
    std::array<Lane, LANES> lanes;
    // In one line with what IbPortCredits adds:
    bool timerPending{false};
    bool hasOneLane;
};

} // namespace ns3

#endif /* IB_LINK_CREDITS_H */
