/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/router.h"

namespace serving
{

namespace
{

class RoundRobin : public Router
{
  public:
    uint32_t Choose(const EnginesView& engines) override
    {
        return m_turn++ % engines.count;
    }

  private:
    uint32_t m_turn = 0;
};

const RegisteredRouter g_roundRobin(
    {"round-robin", 1, "one after the other", []() -> std::unique_ptr<Router> {
         return std::make_unique<RoundRobin>();
     }});

} // namespace

} // namespace serving
