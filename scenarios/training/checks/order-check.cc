/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/asked/degrees.h"
#include "scenarios/asked/training.h"
#include "scenarios/options/member.h"
#include "scenarios/training/checks/option-checks.h"
#include "scenarios/training/rank-work.h"

#include <string>

namespace training
{

void
CheckOrder(const TrainingOptions& o, const Refuse& error)
{
    const bool queues = o.order != CollectiveOrder::kFifo || o.inFlight > 1 || o.chunkBytes > 0;
    if (queues && !Flushes(o))
    {
        error(o.order != CollectiveOrder::kFifo ? Member(&asked::Training::collectiveOrder)
              : o.inFlight > 1                  ? Member(&asked::Training::inFlight)
                                                : Member(&asked::Training::collectiveChunk),
              "is of gradients that are reduced once a step, and " +
                  Spell(&asked::Training::pipelineSchedule) + "=" + o.schedule +
                  " reduces them in each round; allowed: a schedule with a flush, as 1f1b");
    }
    if (!o.overlapNextForward)
    {
        return;
    }
    const auto refuse = [&](const std::string& why, const std::string& allowed) {
        error(&asked::Training::overlapNextForward, why + "; allowed: " + allowed);
    };
    if (o.sharding.optimizer)
    {
        refuse("needs whole gradients and a whole optimizer on each GPU, and " +
                   Spell(&asked::Training::zero) + "=" + std::to_string(o.sharding.Stage()) +
                   " divides them",
               Spell(&asked::Training::zero) + "=0");
    }
    if (o.pipeline > 1)
    {
        refuse("is of one stage, and " + Spell(&asked::Degrees::pp) + " is " +
                   std::to_string(o.pipeline),
               Spell(&asked::Degrees::pp) + "=1");
    }
    if (o.compression != Compression::kNone)
    {
        refuse("is not there with " + Spell(&asked::Training::gradientCompression) +
                   ", whose gradients are unpacked together",
               "none");
    }
    if (o.loaderRate > 0)
    {
        refuse("is not there with " + Spell(&asked::Training::loader) +
                   ", which has a batch ready when a step begins",
               "without it");
    }
    if (o.layers > 0)
    {
        refuse("is no straight line over the number of blocks, which " +
                   Spell(&asked::Training::layers) + " draws",
               "without it");
    }
}

} // namespace training
