/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-ascii-helper.h"

#include "ns3/log.h"
#include "ns3/node-windows.h"
#include "ns3/node.h"
#include "ns3/rdma-frame-text.h"
#include "ns3/rdma-port.h"

#include <cstdio>
#include <sstream>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaAsciiHelper");

namespace
{

void
Print(Ptr<OutputStreamWrapper> stream,
      std::string begin,
      std::string path,
      const RdmaPort*,
      const RdmaFrame* frame,
      int64_t now)
{
    char time[32];
    std::snprintf(time,
                  sizeof time,
                  "%lld.%012lld",
                  static_cast<long long>(now / 1000000000000),
                  static_cast<long long>(now % 1000000000000));
    std::ostringstream line;
    line << begin << " " << time << " " << path << " " << *frame << "\n";
    if (!NodeWindows::InUnit())
    {
        *stream->GetStream() << line.str();
        return;
    }
    // A file may be of ports of several nodes.
    NodeWindows::NoteCall([stream, text = line.str()] { *stream->GetStream() << text; });
}

} // namespace

void
RdmaAsciiHelper::EnableAsciiInternal(Ptr<OutputStreamWrapper> stream,
                                     std::string prefix,
                                     Ptr<NetDevice> device,
                                     bool explicitFilename)
{
    NS_LOG_FUNCTION(this << prefix << device << explicitFilename);
    const Ptr<RdmaPort> port = DynamicCast<RdmaPort>(device);
    if (!port)
    {
        NS_LOG_INFO("RdmaAsciiHelper: a device is no RdmaPort");
        return;
    }
    if (!stream)
    {
        AsciiTraceHelper files;
        stream = files.CreateFileStream(
            explicitFilename ? prefix : files.GetFilenameFromDevice(prefix, device));
    }
    const std::string path = "/NodeList/" + std::to_string(port->GetNode()->GetId()) +
                             "/DeviceList/" + std::to_string(port->GetIfIndex()) +
                             "/$ns3::RdmaPort/";
    for (const auto& [begin, source] :
         {std::pair<const char*, const char*>{"t", "PhyTx"}, {"r", "PhyRx"}, {"d", "PhyRxDrop"}})
    {
        port->TraceConnectWithoutContext(
            source,
            MakeBoundCallback(&Print, stream, std::string(begin), path + source));
    }
}

} // namespace ns3
