/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * NICs, switches and congestion control, as asked for. A row of the option table is bound to each
 * member (Option::As) and describes it. Without a default in every program a member is optional:
 * nothing is "not given", until a rule decides.
 */
#ifndef SCENARIOS_ASKED_FABRIC_H
#define SCENARIOS_ASKED_FABRIC_H

#include "contrib/rdma/core/units.h"
#include "scenarios/options/member.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scenario::asked
{

struct Fabric
{
    std::string compat;
    std::optional<std::string> network;
    std::optional<std::string> fidelity;
    std::optional<double> fastError;
    std::optional<uint32_t> fastChecks;
    std::optional<std::string> fabric;
    std::string nic;
    uint32_t mtu = 0;
    uint32_t ackEvery = 0;
    std::string cc;
    std::optional<std::string> ccPreset;
    bool pfc = false;
    rdma::Duration pfcWatchdog;
    std::string pfcWatchdogAction;
    bool ecn = false;
    std::optional<rdma::Bytes> ecnKmin;
    std::optional<rdma::Bytes> ecnKmax;
    std::optional<double> ecnPmax;
    std::optional<std::string> marker;
    std::optional<std::string> bufferPolicy;
    std::optional<bool> cutThrough;
    std::optional<std::string> flowControl;
    std::optional<rdma::Bytes> creditBuffer;
    std::optional<bool> linkRetry;
    rdma::Bytes buffer;
    rdma::Duration switchLatency;
    rdma::Bytes window;
    uint32_t timeoutExponent = 0;
    std::string lossRecovery;
    uint32_t retryCount = 0;
    std::string transport;
    std::optional<std::string> linkFrames;
    std::optional<std::string> ibSwitch;
    std::optional<std::string> ibRouting;
    std::optional<std::string> ibLfts;
    std::optional<bool> ibDump;
    std::optional<uint32_t> lmc;
    std::optional<uint32_t> vls;
    std::optional<rdma::Bytes> vlBuffer;
    rdma::Bytes creditBlock;
    std::optional<std::string> ibFec;
    std::optional<std::string> vlHigh;
    std::optional<std::string> vlLow;
    std::optional<uint32_t> vlHighLimit;
    std::optional<uint32_t> fecnThreshold;
    std::optional<bool> staticRate;
    std::optional<bool> adaptiveRouting;
    std::optional<std::string> loadBalancer;
    std::string spray;
    rdma::Duration flowletGap;
    bool ecmpResilient = false;
    std::optional<uint32_t> hashSeed;
    std::optional<uint32_t> hashOffset;
    std::optional<Entries> set;
    std::optional<std::vector<std::string>> ets;
    std::optional<std::string> queueDisc;
    std::optional<std::vector<std::string>> shaper;
    std::optional<Entries> trafficClasses;
    std::optional<uint32_t> payload;
    uint32_t headerBytes = 0;
    bool extensionHeaders = false;
    uint32_t ackBytes = 0;
    uint32_t lineOverhead = 0;
    rdma::Duration timeUnit;
    std::optional<uint32_t> ackPriority;
    uint32_t cnpPriority = 0;
    rdma::Duration nakInterval;
    bool variableWindow = false;
    bool ecnBehind = false;
    std::string arrivals;
};

} // namespace scenario::asked

#endif // SCENARIOS_ASKED_FABRIC_H
