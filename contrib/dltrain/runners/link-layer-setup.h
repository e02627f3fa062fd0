/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a scenario says of a fabric's link layer, as the helper takes it: the one place where the
 * bridge asks which one it is.
 */
#ifndef LINK_LAYER_SETUP_H
#define LINK_LAYER_SETUP_H

#include "scenarios/job/scenario.h"

#include "ns3/rdma-fabric-helper.h"

#include <memory>
#include <string>

namespace dltrain
{

class LinkLayerSetup
{
  public:
    /// \param spec outlives the result
    static std::unique_ptr<LinkLayerSetup> Of(const scenario::FabricSpec& spec);
    virtual ~LinkLayerSetup() = default;

    /// \param nic any NIC: all are alike
    /// \return the problem with the combination of attributes, or nothing
    virtual std::string Check(const ns3::RdmaNic& nic) const = 0;
    virtual void Apply(ns3::RdmaFabricHelper& helper) const = 0;
    /// \return what the helper found wrong, with the option that it is about
    virtual std::string Explain(const std::string& error) const = 0;
};

} // namespace dltrain

#endif /* LINK_LAYER_SETUP_H */
