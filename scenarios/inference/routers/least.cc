/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The engine that has the least of something; the first of several.
 */
#include "scenarios/inference/router.h"

namespace serving
{

namespace
{

using Load = std::function<uint64_t(uint32_t)> EnginesView::*;

template <Load LOAD>
class Least : public Router
{
  public:
    static std::unique_ptr<Router> Make()
    {
        return std::make_unique<Least>();
    }

    uint32_t Choose(const EnginesView& engines) override
    {
        uint32_t best = 0;
        uint64_t least = UINT64_MAX;
        for (uint32_t i = 0; i < engines.count; ++i)
        {
            const uint64_t load = (engines.*LOAD)(i);
            if (load < least)
            {
                least = load;
                best = i;
            }
        }
        return best;
    }
};

const RegisteredRouter g_leastLoaded({"least-loaded",
                                      2,
                                      "with the fewest requests that wait or run",
                                      Least<&EnginesView::requests>::Make});
const RegisteredRouter g_kvAware({"kv-aware",
                                  3,
                                  "with the fewest KV blocks in use or asked for",
                                  Least<&EnginesView::askedBlocks>::Make});

} // namespace

} // namespace serving
