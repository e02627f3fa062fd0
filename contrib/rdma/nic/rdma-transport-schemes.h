/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_TRANSPORT_SCHEMES_H
#define RDMA_TRANSPORT_SCHEMES_H

#include "rdma-transport.h"

#include "ns3/attribute.h"

#include <string>
#include <vector>

namespace ns3
{

/// \ingroup rdma
/// The transports that there are, by name.
class RdmaTransportSchemes
{
  public:
    /// Adds a scheme to those that can be selected, while the program starts.
    struct Registered
    {
        explicit Registered(RdmaTransportScheme scheme);
    };

    /// \return the scheme of that name; null: there is none
    static const RdmaTransportScheme* Find(const std::string& name);
    /// \return what those who have nothing else use
    static const RdmaTransportScheme& GoBackN();
    /// \return the scheme of a value of the attribute that GetChecker() checks
    static const RdmaTransportScheme& At(int index);
    /// \return names, go-back-n first
    static std::vector<std::string> GetNames();
    /// \return of an attribute (EnumValue of int) with one of the names; 0 is go-back-n
    static Ptr<const AttributeChecker> GetChecker();
};

} // namespace ns3

#endif /* RDMA_TRANSPORT_SCHEMES_H */
