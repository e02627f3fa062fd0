/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOW_FORESEEN_H
#define NODE_WINDOW_FORESEEN_H

#include "ns3/event-impl.h"

#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * An event that knows what it will need (NodeWindows::ScheduleForeseen).
 */
class NodeWindowForeseen : public EventImpl
{
  public:
    /// It will soon run, and has been fetched itself: PrefetchLine what it needs, in turns of
    /// growing depth, each a while before the next, which looks at what the one before has fetched.
    /// \param depth 0 to NodeWindowUser::DEPTHS - 1
    virtual void Prefetch(uint32_t depth) const = 0;
};

} // namespace ns3

#endif /* NODE_WINDOW_FORESEEN_H */
