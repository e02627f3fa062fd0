/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-credit-returns.h"

#include <algorithm>

namespace ns3
{

std::string
RdmaCreditReturns::WhyTooLarge(const std::vector<Ptr<RdmaPort>>& ports,
                               const rdma::SharedBufferConfig& config)
{
    uint64_t largest = 0;
    uint64_t bytes = 0;
    uint64_t buffers = 0;
    for (const auto& port : ports)
    {
        if (port->GetCreditBuffer() && port->GetCreditMask())
        {
            const auto n = static_cast<uint64_t>(__builtin_popcount(port->GetCreditMask()));
            largest = std::max(largest, port->GetCreditBytes());
            bytes += n * port->GetCreditBytes();
            buffers += n;
        }
    }
    // As SharedBuffer::WhyNot has it.
    const uint64_t others = rdma::SharedBuffer::SetAside(config) - bytes + 2 * 9216;
    if (buffers == 0 || !config.headroomPoolOf.empty() || others >= config.totalBytes)
    {
        return {};
    }
    return "ns3::RdmaPort::CreditBuffer: " + std::to_string(largest) + ": allowed: at most " +
           std::to_string((config.totalBytes - others) / buffers) + ", as " +
           std::to_string(buffers) + (buffers == 1 ? " is" : " are") + " in this memory: ";
}

} // namespace ns3
