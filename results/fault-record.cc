/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/fault-record.h"

#include "results/human-text.h"

namespace results
{

FaultRecord
RecordOf(const scenario::Fault& fault)
{
    using scenario::FaultKind;
    FaultRecord record;
    record.what = fault.what;
    record.where = fault.where;
    record.cables = fault.cables;
    record.ofNetwork = fault.IsOfNetwork();
    record.isCut = fault.IsCut();
    record.losesFrames =
        fault.IsCut() || fault.kind == FaultKind::kBitErrors || fault.kind == FaultKind::kDrop;
    record.at = fault.at.ps;
    switch (fault.kind)
    {
    case FaultKind::kRate:
        record.extents = {{"rate_gbps", static_cast<double>(fault.rate.bps) / 1e9}};
        record.extent = HumanRate(record.extents[0].second);
        break;
    case FaultKind::kLaneDown:
        record.extents = {{"rate_share", fault.value}};
        record.extent = Format("%g%% of its rate left", 100 * fault.value);
        break;
    case FaultKind::kBitErrors:
        record.extents = {{"bit_error_ratio", fault.value}};
        record.extent = Format("%g of the bits", fault.value);
        break;
    case FaultKind::kDrop:
        record.extents = {{"dropped_share", fault.value}};
        record.extent = Format("%g%% of the frames", 100 * fault.value);
        break;
    case FaultKind::kGpuSlow:
        record.extents = {{"compute_time_factor", fault.value}};
        record.extent = Format("%g times as long", fault.value);
        break;
    case FaultKind::kFlap:
        record.extents = {{"period_us", static_cast<double>(fault.period.ps) / 1e6},
                          {"down_share", fault.duty}};
        record.extent =
            Format("down %g%% of each ", 100 * fault.duty) + HumanTimeOfPs(fault.period.ps);
        break;
    default:
        break;
    }
    return record;
}

nlohmann::ordered_json
ToJson(const FaultRecord& r)
{
    const auto us = [](int64_t ps) {
        return ps < 0 ? nlohmann::ordered_json(nullptr)
                      : nlohmann::ordered_json(static_cast<double>(ps) / 1e6);
    };
    nlohmann::ordered_json j = {{"what", r.what},
                                {"where", r.where},
                                {"at_us", us(r.at)},
                                {"begun", r.begun >= 0},
                                {"until_us", us(r.ended)},
                                {"times", r.times}};
    if (r.cables)
    {
        j["cables"] = r.cables;
    }
    for (const auto& [key, value] : r.extents)
    {
        j[key] = value;
    }
    if (!r.ofNetwork)
    {
        j["hits_nobody_because"] =
            r.missed.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(r.missed);
    }
    if (r.isCut)
    {
        j["detected_us"] = us(r.detected);
        j["rerouted_us"] = us(r.rerouted);
        j["frames_without_way"] = r.framesWithoutWay;
    }
    if (r.losesFrames)
    {
        j["frames_lost"] = r.framesLost;
        j["pairs_hit"] = r.pairsHit;
    }
    return j;
}

void
PrintFaults(std::ostream& os, const std::vector<FaultRecord>& faults, int64_t measuredFrom)
{
    const char* head = "Faults           ";
    for (const FaultRecord& r : faults)
    {
        std::string text = r.what + " on " + r.where;
        std::string more = r.cables > 1 ? HumanCount(r.cables) + " cables" : "";
        more += (more.empty() || r.extent.empty() ? "" : "; ") + r.extent;
        text += more.empty() ? "" : " (" + more + ")";
        if (r.begun < 0)
        {
            text += ": was to begin at " + HumanTimeOfPs(r.at) + ", when the run was over";
        }
        else
        {
            text += r.times > 1
                        ? ", " + HumanCount(r.times) + " times from " + HumanTimeOfPs(r.begun)
                        : " at " + HumanTimeOfPs(r.begun);
            text += r.ended >= 0 ? " to " + HumanTimeOfPs(r.ended) : " to the end of the run";
            text += r.missed.empty() ? "" : "; it hit nobody: " + r.missed;
            if (r.isCut)
            {
                text += r.detected < 0 ? "; no switch noticed"
                                       : "; noticed at " + HumanTimeOfPs(r.detected);
                text += r.detected < 0   ? ""
                        : r.rerouted < 0 ? ", no new tables"
                                         : ", new tables at " + HumanTimeOfPs(r.rerouted);
            }
            if (r.losesFrames)
            {
                text += r.begun < measuredFrom ? "; in the whole run " : "; ";
                text +=
                    HumanCount(r.framesLost) + (r.framesLost == 1 ? " frame lost" : " frames lost");
                text += r.isCut && r.framesWithoutWay
                            ? ", " + HumanCount(r.framesWithoutWay) + " found no way left" +
                                  (r.pairsHit ? "," : "")
                            : "";
                text += r.pairsHit ? " of " + HumanCount(r.pairsHit) +
                                         (r.pairsHit == 1 ? " pair" : " pairs") + " of hosts"
                                   : "";
            }
        }
        os << head << Wrapped(text, 17, 2) << "\n";
        head = "                 ";
    }
}

} // namespace results
