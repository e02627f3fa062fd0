/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_ASCII_HELPER_H
#define RDMA_ASCII_HELPER_H

#include "ns3/trace-helper.h"

#include <string>

namespace ns3
{

/**
 * \ingroup rdma
 * Ascii traces of ports, as other helpers of ns-3 have them:
 *
 *     RdmaHelper rdma;
 *     ...
 *     rdma.EnableAscii("incast", nics);              // incast-0-0.tr, incast-1-0.tr
 *     rdma.EnableAsciiAll(AsciiTraceHelper().CreateFileStream("all.tr"));
 *
 * A line a frame: t when it starts to be sent, r when it has been received, d when it is dropped
 * for bit errors; the time in seconds; the path of the trace source; the frame (operator<<).
 * Devices that are no RdmaPort are left out.
 */
class RdmaAsciiHelper : public AsciiTraceHelperForDevice
{
  private:
    void EnableAsciiInternal(Ptr<OutputStreamWrapper> stream,
                             std::string prefix,
                             Ptr<NetDevice> device,
                             bool explicitFilename) override;
};

} // namespace ns3

#endif /* RDMA_ASCII_HELPER_H */
