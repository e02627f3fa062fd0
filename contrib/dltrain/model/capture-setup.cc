/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "capture-setup.h"

#include "results/output-errors.h"
#include "scenarios/spec/options.h"

#include "ns3/rdma-capture-file.h"
#include "ns3/rdma-pcap-helper.h"

namespace dltrain
{

std::string
CheckCaptures(const ns3::RdmaFabric& fabric, const scenario::RunOptions& run)
{
    const std::string error = run.pcap.empty() ? "" : ns3::RdmaPcapHelper(fabric).CheckFrames();
    return error.empty() ? "" : "--pcap: " + error;
}

std::string
StartCaptures(const ns3::RdmaFabric& fabric, const scenario::RunOptions& run)
{
    if (run.pcap.empty())
    {
        return {};
    }
    ns3::RdmaCaptureFile::SetErrorCallback([](const std::string& path, const std::string& why) {
        results::OutputErrors::Add(path, why);
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
    std::string error = helper.SetFlows(scenario::Join(capture.flows, ","));
    if (!error.empty())
    {
        return "--pcap-flow: " + error;
    }
    // All selectors at once: a port that two of them mean is captured once.
    error = helper.EnablePcap(run.out, scenario::Join(run.pcap, ","));
    if (results::OutputErrors::Any())
    {
        return results::OutputErrors::First();
    }
    return error.empty() ? "" : "--pcap: " + error;
}

void
FinishCaptures()
{
    ns3::RdmaCaptureFile::CloseAll();
}

} // namespace dltrain
