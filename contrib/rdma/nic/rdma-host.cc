/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-host.h"

#include "rdma-nic.h"

#include "ns3/object-vector.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaHost);

TypeId
RdmaHost::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RdmaHost")
                            .SetParent<Object>()
                            .SetGroupName("Rdma")
                            .AddConstructor<RdmaHost>()
                            .AddAttribute("NicList",
                                          "RDMA network interfaces of the node, in the order in "
                                          "which they were attached",
                                          ObjectVectorValue(),
                                          MakeObjectVectorAccessor(&RdmaHost::m_nics),
                                          MakeObjectVectorChecker<RdmaNic>());
    return tid;
}

Ptr<RdmaHost>
RdmaHost::Of(Ptr<Node> node)
{
    Ptr<RdmaHost> host = node->GetObject<RdmaHost>();
    if (!host)
    {
        host = CreateObject<RdmaHost>();
        node->AggregateObject(host);
    }
    return host;
}

void
RdmaHost::Add(Ptr<RdmaNic> nic)
{
    m_nics.push_back(nic);
}

void
RdmaHost::DoDispose()
{
    m_nics.clear();
    Object::DoDispose();
}

} // namespace ns3
