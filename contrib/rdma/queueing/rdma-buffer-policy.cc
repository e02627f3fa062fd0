/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-buffer-policy.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaBufferPolicy);

TypeId
RdmaBufferPolicy::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RdmaBufferPolicy").SetParent<Object>().SetGroupName("Rdma");
    return tid;
}

RdmaBufferPolicy::~RdmaBufferPolicy() = default;

uint64_t
RdmaBufferPolicy::Limit(rdma::QueueSide, uint32_t, uint8_t, uint64_t alphaFree, int64_t)
{
    return alphaFree;
}

uint64_t
RdmaBufferPolicy::GetPool(const rdma::SharedBufferConfig& config)
{
    const uint64_t taken = rdma::SharedBuffer::SetAside(config);
    return config.totalBytes > taken ? config.totalBytes - taken : 0;
}

} // namespace ns3
