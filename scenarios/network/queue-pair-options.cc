/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/queue-pair-options.h"

#include "scenarios/asked/cluster.h"
#include "scenarios/asked/modes.h"

namespace scenario
{

std::vector<Option>
QueuePairOptionRows()
{
    const Section section =
        Section{"/cluster", "Load balancing"}.Only(when::Packets()).IdleUnless(when::Rdma());
    return {
        section
            .Integer("qps-per-connection",
                     "queue pairs of a channel between two GPUs, each with a source port and so a "
                     "way of "
                     "its "
                     "own (NCCL_IB_QPS_PER_CONNECTION)")
            .As(&asked::Cluster::qpsPerConnection)
            .Default("1")
            .Range(1, ConnectionSpec::kMostQueuePairs)
            .Example("4")
            .To(&ConnectionSpec::queuePairs),
        section
            .Flag("split-data-on-qps",
                  "every message is split over the queue pairs of its channel; else messages take "
                  "them "
                  "in "
                  "turns (NCCL_IB_SPLIT_DATA_ON_QPS)")
            .As(&asked::Cluster::splitDataOnQps)
            .Default("0")
            .IdleUnless(when::Above("qps-per-connection", 1))
            .To(&ConnectionSpec::split),
    };
}

ConnectionSpec
MakeConnections(Validation* v)
{
    ConnectionSpec spec;
    v->Fill(&spec);
    v->Settle(&asked::Cluster::qpsPerConnection);
    return spec;
}

} // namespace scenario
