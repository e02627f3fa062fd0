/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/options/cluster/queue-pair-options.h"

namespace scenario
{

std::vector<Option>
QueuePairOptionRows()
{
    const std::string group = "Load balancing";
    const std::string json = "/cluster";
    return {
        Opt("qps-per-connection",
            Kind::kInteger,
            json,
            group,
            "queue pairs of a channel between two GPUs, each with a source port and so a way of "
            "its "
            "own (NCCL_IB_QPS_PER_CONNECTION)")
            .Default("1")
            .Range(1, ConnectionSpec::kMostQueuePairs)
            .Example("4"),
        Opt("split-data-on-qps",
            Kind::kFlag,
            json,
            group,
            "every message is split over the queue pairs of its channel; else messages take them "
            "in "
            "turns (NCCL_IB_SPLIT_DATA_ON_QPS)")
            .Default("0"),
    };
}

ConnectionSpec
MakeConnections(Validation* v)
{
    ConnectionSpec spec;
    spec.queuePairs = v->values.U32("qps-per-connection");
    spec.split = v->values.Flag("split-data-on-qps");
    if (spec.queuePairs == 1)
    {
        v->NoteIfSet({"split-data-on-qps"}, "has no effect with --qps-per-connection=1");
    }
    return spec;
}

} // namespace scenario
