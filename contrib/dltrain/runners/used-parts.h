/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef USED_PARTS_H
#define USED_PARTS_H

#include "scenarios/job/scenario.h"

#include "ns3/type-id.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dltrain
{

/// Whether transports make objects of a class, for their NICs' connections.
bool IsOfTransport(ns3::TypeId type);

/**
 * Parts that a run chooses by name: congestion controls, transports, load balancers, path
 * selectors, queue disciplines, markers, buffer policies. Attributes of those that it does not
 * choose, anywhere in its network, have no effect.
 */
class UsedParts
{
  public:
    /// After the run's attributes are set, before its network is made.
    explicit UsedParts(const scenario::FabricSpec& spec);

    /// \return why attributes of a class have no effect; nothing: they may have one
    std::string WhyUnused(ns3::TypeId type) const;

    /// \return why one attribute has no effect, though others of its class may; nothing: it may
    /// have one
    std::string WhyUnused(const std::string& attribute) const;

  private:
    struct Kind
    {
        std::vector<ns3::TypeId> all;  ///< the classes of this kind, or what they derive from
        std::vector<ns3::TypeId> used; ///< those of the run
        std::string why;
    };

    std::vector<Kind> m_kinds;
    std::map<std::string, std::string> m_idle; ///< why, by attribute
};

} // namespace dltrain

#endif /* USED_PARTS_H */
