/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/stats/fault-record.h"

#include "reports/base/human-text.h"

#include <algorithm>

namespace reports
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
    record.isPlanned = fault.kind == FaultKind::kCircuits;
    record.losesFrames = fault.IsCut() || record.isPlanned || fault.kind == FaultKind::kBitErrors ||
                         fault.kind == FaultKind::kDrop;
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

namespace
{

/// How far a fault goes, of faults of which that says something.
Key<FaultRecord>
Extent(const Words& words)
{
    const auto find = [name = words.name](const FaultRecord& r) {
        return std::find_if(r.extents.begin(), r.extents.end(), [&](const auto& one) {
            return one.first == name;
        });
    };
    return Key<FaultRecord>(words, [find](const auto& r) { return find(r)->second; })
        .Only([find](const auto& r) { return find(r) != r.extents.end(); });
}

std::string
LossText(const FaultRecord& r)
{
    std::string text =
        HumanCount(r.framesLost) + (r.framesLost == 1 ? " frame lost" : " frames lost");
    text +=
        (r.isCut || r.isPlanned) && r.framesWithoutWay
            ? ", " + HumanCount(r.framesWithoutWay) + " found no way left" + (r.pairsHit ? "," : "")
            : "";
    return text + (r.pairsHit ? " of " + HumanCount(r.pairsHit) +
                                    (r.pairsHit == 1 ? " pair" : " pairs") + " of hosts"
                              : "");
}

} // namespace

const Object<FaultRecord>&
FaultKeys()
{
    using Fault = FaultRecord;
    static const Object<Fault> keys{
        {"what: Kind of the fault; circuits: those of the topology, which come and go by a plan",
         &Fault::what},
        {"where: Link, port, node or GPU, as given", &Fault::where},
        {"at_us (us): When it was to begin", &Fault::at},
        {"begun: Whether it began before the run ended",
         [](const auto& r) { return r.begun >= 0; }},
        {"until_us (us): When it ended the last time; null: never", &Fault::ended},
        {"times (count): How often it began; circuits: how often they changed", &Fault::times},
        Key<Fault>("cables (count): Cables of a link", &Fault::cables).Only(&Fault::cables),
        Extent("rate_gbps (Gb/s): Severity: rate that is left"),
        Extent(
            "rate_share (0 to 1): Severity: share of the rate that is left after lanes were lost"),
        Extent("bit_error_ratio (0 to 1): Severity: share of the bits that are wrong"),
        Extent("dropped_share (0 to 1): Severity: share of the frames that are dropped"),
        Extent("compute_time_factor (ratio): Severity: how many times as long the GPU computes"),
        Extent("period_us (us): Severity: from one cut of a flapping link to the next"),
        Extent("down_share (0 to 1): Severity: share of this period in which the link is cut"),
        Key<Fault>("hits_nobody_because: Faults of GPUs: why no rank was there; null: one was",
                   &Fault::missed)
            .NullUnless([](const auto& r) { return !r.missed.empty(); })
            .Only([](const auto& r) { return !r.ofNetwork; }),
        Key<Fault>("nic_gbps (Gb/s): Cut cables of bonded NICs: rate of a NIC before",
                   &Fault::nicGbps)
            .Only(&Fault::nicGbps),
        Key<Fault>(
            "nic_left_gbps (Gb/s): Cut cables of bonded NICs: rate of the ports that are left",
            &Fault::nicGbpsLeft)
            .Only(&Fault::nicGbps),
        Key<Fault>("detected_us (us): Cut cables: when a switch first noticed", &Fault::detected)
            .Only(&Fault::isCut),
        Key<Fault>("rerouted_us (us): Cut cables: when all switches first had new tables",
                   &Fault::rerouted)
            .Only(&Fault::isCut),
        Key<Fault>("frames_without_way (frames): Cut cables: dropped meanwhile anywhere as "
                   "dead_next_hop or no_route",
                   &Fault::framesWithoutWay)
            .Only([](const auto& r) { return r.isCut || r.isPlanned; }),
        Key<Fault>("frames_lost (frames): On the wire, sent in vain, dropped from queues, "
                   "corrupted or dropped silently by it",
                   &Fault::framesLost)
            .Only(&Fault::losesFrames),
        Key<Fault>("pairs_hit (count): Senders and receivers, by direction, that lost data by it, "
                   "or found no path",
                   &Fault::pairsHit)
            .Only(&Fault::losesFrames)};
    return keys;
}

void
PrintFaults(std::ostream& os, const std::vector<FaultRecord>& faults, int64_t measuredFrom)
{
    const char* head = "Faults           ";
    for (const FaultRecord& r : faults)
    {
        head = r.isPlanned ? "Circuits         " : head;
        std::string text = (r.isPlanned ? "of " : r.what + " on ") + r.where;
        std::string more = r.cables > 1 ? HumanCount(r.cables) + " cables" : "";
        more += (more.empty() || r.extent.empty() ? "" : "; ") + r.extent;
        text += more.empty() ? "" : " (" + more + ")";
        if (r.isPlanned)
        {
            text += ": " + HumanCount(r.times) + (r.times == 1 ? " change; " : " changes; ") +
                    LossText(r);
        }
        else if (r.begun < 0)
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
            text += r.nicGbps > 0 ? "; bonded NIC at " + HumanRate(r.nicGbpsLeft) + " of " +
                                        HumanRate(r.nicGbps) + " meanwhile"
                                  : "";
            if (r.losesFrames)
            {
                text += r.begun < measuredFrom ? "; in the whole run " : "; ";
                text += LossText(r);
            }
        }
        os << head << Wrapped(text, 17, 2) << "\n";
        head = "                 ";
    }
}

} // namespace reports
