/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/asked/modes.h"

#include "scenarios/asked/training.h"
#include "scenarios/options/options.h"

#include <string>

namespace scenario::when
{

When
Packets()
{
    return Is("network", {"packet"}).Usual().Hides().Strict();
}

When
Fast()
{
    return Is("fidelity", {"fast"});
}

When
ScaleUpPackets()
{
    return Is("scale-up", {"packets"});
}

When
Ethernet()
{
    return Is("fabric", {"roce"})
        .Usual()
        .Hides()
        .Strict()
        .Because("whose links have credits and whose switches mark by --fecn-threshold");
}

When
InfiniBand()
{
    return Is("fabric", {"ib"}).Hides().Strict();
}

When
Rdma()
{
    return Is("protocol", {"rdma"}).Usual();
}

When
OneJob()
{
    return Without("jobs").Usual();
}

When
Collectives()
{
    When when = If("strategy", "--strategy=sync", [](const Values& values) {
        return !values.Has(&asked::Training::strategy) ||
               values.Get(&asked::Training::strategy) == "sync";
    });
    return when.Usual().Because("which has neither collectives nor stages");
}

When
Zero(const char* stages)
{
    const std::string text = stages;
    When when{"zero", "--zero=" + text};
    when.holds = [text](const Values& values) {
        return text.find(std::to_string(values.Get(&asked::Training::zero))) != std::string::npos;
    };
    return when;
}

std::vector<When>
Model()
{
    std::vector<When> both = {
        Without("trace").Usual().Hides().Because("whose step is recorded"),
        Without("launch").Usual().Hides().Because("whose script says what is trained")};
    for (When& when : both)
    {
        when.needs = "a model";
        when.excludes = false;
    }
    return both;
}

When
TrainingJob()
{
    return Known("jobs", "a job that trains a model").Usual();
}

When
CommunicatingJob()
{
    return Known("jobs", "a job with collectives").Usual();
}

When
CutLinks()
{
    return Known("fault", "--fault=link-down, port-down, switch-down, nic-down or flap");
}

When
SharedLinks()
{
    return Is("network", {"packet", "fluid"}).Usual();
}

When
SeveralPriorities()
{
    return Known("", "flows of several priorities");
}

When
Sequences()
{
    return Known("model", "a model whose samples are sequences").Usual();
}

When
HalfPrecision()
{
    return Known("dtype", "--dtype of 16 bits").Usual();
}

When
Job(const char* needs)
{
    return Known("", needs).Usual();
}

} // namespace scenario::when
