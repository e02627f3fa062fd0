/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How packets are spread over equal ways, as asked for.
 */
#ifndef SCENARIOS_JOB_LOAD_BALANCING_H
#define SCENARIOS_JOB_LOAD_BALANCING_H

#include <string>

namespace scenario
{

/// A scheme of --load-balancer: its name and properties.
struct LoadBalancer
{
    /// The device that chooses the path.
    enum class Where : unsigned char
    {
        kSwitches,
        kSenders, ///< by the UDP source port; switches hash it
    };

    /// Whether the packets of a queue pair stay in order.
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
    const char* notInfiniBand = nullptr;
    /// With Ethernet: the same.
    const char* notEthernet = nullptr;
};

/// \return the scheme of that name; null if there is none
const LoadBalancer* FindLoadBalancer(const std::string& name);

/// The options of a FabricSpec.
struct LoadBalancingSpec
{
    std::string name = "ecmp"; ///< name of a scheme: FindLoadBalancer
    std::string variant;       ///< variant of spray: "random"; else empty

    /// \return "spray (random)"
    std::string Text() const
    {
        return variant.empty() ? name : name + " (" + variant + ")";
    }
};

} // namespace scenario

#endif // SCENARIOS_JOB_LOAD_BALANCING_H
