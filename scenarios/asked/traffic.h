/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Flows of traffic, and of background traffic, as asked for. A row of the option table is bound to
 * each member (Option::As) and describes it. Without a default in every program a member is
 * optional: nothing is "not given", until a rule decides.
 */
#ifndef SCENARIOS_ASKED_TRAFFIC_H
#define SCENARIOS_ASKED_TRAFFIC_H

#include "contrib/rdma/core/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scenario::asked
{

struct Traffic
{
    std::string protocol;
    std::optional<std::string> pattern;
    std::optional<uint32_t> offset;
    std::optional<uint32_t> fanIn;
    std::optional<uint32_t> target;
    std::optional<std::vector<std::string>> bytes;
    std::optional<std::string> sizes;
    std::optional<rdma::Duration> startJitter;
    std::optional<double> load;
    std::optional<std::string> loadOf;
    std::optional<rdma::Duration> duration;
    rdma::Duration warmUp;
    std::optional<rdma::Duration> coolDown;
    std::optional<rdma::Duration> onTime;
    std::optional<rdma::Duration> offTime;
    std::optional<std::string> onOffTimes;
    std::optional<double> incastLoad;
    std::optional<uint32_t> incastFanIn;
    std::optional<rdma::Bytes> incastBytes;
    std::optional<std::string> incastArrivals;
    std::optional<uint32_t> priority;
    std::optional<std::string> flowClass;
    std::optional<std::string> flows;
    std::string operation;
    std::string completion;
    std::optional<std::string> queuePairs;
    uint32_t outstanding = 0;
    rdma::Duration queuePairRest;
    uint32_t sizeGroups = 0;
    std::optional<std::vector<std::string>> sizeBins;
    std::optional<rdma::Duration> queueInterval;
    std::optional<rdma::Duration> rateInterval;
    std::optional<uint32_t> hosts;
    rdma::Duration stopAfter;
    std::optional<std::string> tcpControl;
    std::optional<uint32_t> packetMtu;
    std::optional<rdma::BitRate> rate;
};

} // namespace scenario::asked

#endif // SCENARIOS_ASKED_TRAFFIC_H
