/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_OWNER_H
#define RDMA_OWNER_H

#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * Who touches what: the state of a node changes by its own events only, before the first event, or
 * by events without a context, which stand for the whole simulation. Threads, several processes and
 * engines that run nodes apart all need this one rule.
 *
 *     RdmaOwner::Check(node, "posts to a queue pair");
 *
 * Nothing is checked unless asked for: by the global value RdmaCheckOwners
 * (`--RdmaCheckOwners=true`, or NS_GLOBAL_VALUE="RdmaCheckOwners=true"), as tests do. Then whatever
 * breaks the rule ends the program with a message. Calls belong where others call in (a post, a
 * delivery, a task that ends), not on the path of each packet.
 */
class RdmaOwner
{
  public:
    /// \param node the ns-3 node whose state is about to change \param what of it, for the message
    static void Check(uint32_t node, const char* what)
    {
        if (g_checks)
        {
            Assert(node, what);
        }
    }

    /// As the global value says, from now on.
    static void ReadGlobalValue();

    /// \return how often something was checked
    static uint64_t GetNChecks()
    {
        return g_checked;
    }

  private:
    static void Assert(uint32_t node, const char* what);

    static bool g_checks;
    static uint64_t g_checked;
};

} // namespace ns3

#endif /* RDMA_OWNER_H */
