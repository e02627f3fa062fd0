/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-queue-disc.h"

#include "contrib/rdma/core/queue-disc-names.h"
#include "rdma-named-class.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaQueueDisc);

namespace
{

std::string
FindClass(const std::string& name, ObjectFactory& factory)
{
    return RdmaFindClass<RdmaQueueDisc>("ns3::RdmaPort::QueueDisc",
                                        name,
                                        {rdma::kPortDwrr, rdma::kPortStrict},
                                        factory);
}

} // namespace

TypeId
RdmaQueueDisc::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RdmaQueueDisc").SetParent<Object>().SetGroupName("Rdma");
    return tid;
}

RdmaQueueDisc::~RdmaQueueDisc() = default;

int64_t
RdmaQueueDisc::NotBefore(uint8_t, int64_t)
{
    return NEVER;
}

RdmaFrame*
RdmaQueueDisc::Evict(const RdmaFrame&, int64_t)
{
    return nullptr;
}

uint16_t
RdmaQueueDisc::GetNeeds() const
{
    return NOTHING;
}

const std::vector<std::pair<std::string, std::string>>&
RdmaQueueDisc::GetNames()
{
    // Once: every port asks.
    static const auto names = RdmaNamedTypes<RdmaQueueDisc>::Get();
    return names;
}

Ptr<RdmaQueueDisc>
RdmaQueueDisc::Make(const std::string& name)
{
    ObjectFactory factory;
    return FindClass(name, factory).empty() ? factory.Create<RdmaQueueDisc>() : nullptr;
}

std::string
RdmaQueueDisc::CheckName(const std::string& name)
{
    ObjectFactory factory;
    return rdma::IsPortsOwn(name) ? "" : FindClass(name, factory);
}

} // namespace ns3
