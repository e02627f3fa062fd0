/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How packets are spread over equal ways, as asked for.
 */
#ifndef SCENARIOS_RUN_LOAD_BALANCING_H
#define SCENARIOS_RUN_LOAD_BALANCING_H

#include <string>

namespace scenario
{

/// A scheme of --load-balancer and what it takes.
struct LoadBalancer
{
    /// Who chooses.
    enum class Where : unsigned char
    {
        kSwitches,
        kSenders, ///< by the UDP source port; switches hash it
    };

    /// What becomes of the order of a queue pair's packets.
    enum class Order : unsigned char
    {
        kKept,
        kSeldomLost, ///< between flowlets, or where a queue pair takes another way
        kLost,       ///< packet by packet
    };

    const char* name;
    const char* description;
    Where where;
    Order order;
    /// With InfiniBand: nullptr, or why it does not exist there.
    const char* notInfiniBand;
    /// With Ethernet: the same.
    const char* notEthernet;
};

/// \return the scheme of that name; null: there is none
const LoadBalancer* FindLoadBalancer(const std::string& name);

/// The options of a FabricSpec.
struct LoadBalancingSpec
{
    std::string name = "ecmp"; ///< of the schemes
    std::string variant;       ///< of spray: "random"; else empty

    /// \return "spray (random)"
    std::string Text() const
    {
        return variant.empty() ? name : name + " (" + variant + ")";
    }
};

} // namespace scenario

#endif // SCENARIOS_RUN_LOAD_BALANCING_H
