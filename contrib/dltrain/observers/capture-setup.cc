/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "capture-setup.h"

#include "contrib/dltrain/ranks/rank-notes.h"
#include "contrib/dltrain/ranks/ranks.h"
#include "reports/base/output-errors.h"
#include "scenarios/asked/run.h"
#include "scenarios/options/member.h"
#include "scenarios/options/options.h"

#include "ns3/node-windows.h"
#include "ns3/rdma-capture-file.h"
#include "ns3/rdma-connections.h"
#include "ns3/rdma-pcap-helper.h"

#include <cstring>
#include <memory>

namespace dltrain
{

namespace
{

/// A connection's name, from which its UDP ports follow.
struct NamedConnection
{
    uint32_t from; ///< endpoint
    uint32_t number;
    uint64_t name;
};

/// Switches of any rank may see packets of any connection: all ranks learn their names.
void
TellNames(ns3::RdmaConnections& connections)
{
    ns3::NodeWindowRanks* ranks = Ranks::OfWindows();
    const uint32_t reader =
        ranks->AddReader([&connections](uint32_t, const uint8_t* at, const uint8_t*) {
            NamedConnection learnt;
            std::memcpy(&learnt, at, sizeof(learnt));
            connections.LearnName(learnt.from, learnt.number, learnt.name);
        });
    connections.SetOpenCallback(
        [ranks, reader](const ns3::RdmaConnectionRequest& request, uint32_t number) {
            const NamedConnection opened{request.from, number, request.name};
            ns3::NodeWindows::NoteCall([ranks, reader, opened] {
                for (uint32_t rank = 0; rank < Ranks::Get().Size(); ++rank)
                {
                    if (rank != ranks->GetRank())
                    {
                        ranks->Post(rank, reader, &opened, sizeof(opened));
                    }
                }
            });
        });
}

} // namespace

std::string
CheckCaptures(const ns3::RdmaFabric& fabric, const scenario::RunOptions& run)
{
    const std::string error = run.pcap.empty() ? "" : ns3::RdmaPcapHelper(fabric).CheckFrames();
    return error.empty() ? "" : scenario::Spell(&scenario::asked::Run::pcap) + ": " + error;
}

std::string
StartCaptures(ns3::RdmaFabric& fabric, const scenario::RunOptions& run, RankNotes* notes)
{
    if (run.pcap.empty())
    {
        return {};
    }
    ns3::RdmaCaptureFile::SetErrorCallback([](const std::string& path, const std::string& why) {
        reports::OutputErrors::Add(path, why);
    });
    const scenario::CaptureOptions& capture = run.capture;
    ns3::RdmaPcapHelper helper(fabric);
    helper.SetFormat(capture.pcapng ? ns3::RdmaPcapHelper::Format::PCAPNG
                                    : ns3::RdmaPcapHelper::Format::PCAP);
    if (capture.snapLength)
    {
        helper.SetSnapLength(capture.snapLength);
    }
    helper.SetFileSize(capture.fileBytes, capture.files);
    if (notes)
    {
        // The kind is known once the hearer exists, which the helper makes from the teller.
        const auto kind = std::make_shared<uint16_t>();
        *kind = notes->AddHearer(
            helper.SetRanks(Ranks::Get().IsFirst(), [notes, kind](const uint8_t* record, size_t n) {
                notes->TellBytes(*kind, record, n);
            }));
        TellNames(fabric.GetConnections());
    }
    std::string error = helper.SetFlows(scenario::Join(capture.flows, ","));
    if (!error.empty())
    {
        return scenario::Spell(&scenario::asked::Run::pcapFlow) + ": " + error;
    }
    // All selectors at once: a port that two of them mean is captured once.
    error = helper.EnablePcap(run.out, scenario::Join(run.pcap, ","));
    if (reports::OutputErrors::Any())
    {
        return reports::OutputErrors::First();
    }
    return error.empty() ? "" : scenario::Spell(&scenario::asked::Run::pcap) + ": " + error;
}

void
FinishCaptures()
{
    ns3::RdmaCaptureFile::CloseAll();
}

} // namespace dltrain
