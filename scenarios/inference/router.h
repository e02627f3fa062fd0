/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which engine takes a request. A router is one file of routers/, which registers it.
 */
#ifndef SCENARIOS_INFERENCE_ROUTER_H
#define SCENARIOS_INFERENCE_ROUTER_H

#include "topologies/registered.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace serving
{

/// The engines of a pool, instance by instance.
struct EnginesView
{
    uint32_t count = 0;
    std::function<uint64_t(uint32_t engine)> requests; ///< that wait or run
    std::function<uint64_t(uint32_t engine)>
        askedBlocks; ///< KV blocks in use or asked for by those that wait
};

/// Of one pool.
class Router
{
  public:
    virtual ~Router() = default;
    /// \return the engine, below `count`
    virtual uint32_t Choose(const EnginesView& engines) = 0;
};

struct RouterEntry
{
    static constexpr const char* kWhat = "routers";

    std::string name;
    int rank;
    std::string description; ///< of --help
    std::unique_ptr<Router> (*make)();
};

using RegisteredRouter = topo::Registered<RouterEntry>;

} // namespace serving

#endif // SCENARIOS_INFERENCE_ROUTER_H
