/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_NAMED_CLASS_H
#define RDMA_NAMED_CLASS_H

#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/shown-text.h"

#include "ns3/object-factory.h"
#include "ns3/rdma-named-types.h"

#include <string>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * Finds the class that an attribute names: a marker, a buffer policy. \tparam Base as
 * RdmaNamedTypes has it
 *
 * \param attribute "ns3::RdmaSwitch::Marker", for the error
 * \param name short, or of the TypeId
 * \param others names that are allowed, too, without a class
 * \param [out] factory makes it \return what is wrong, or nothing
 */
template <class Base>
std::string
RdmaFindClass(const std::string& attribute,
              const std::string& name,
              const std::vector<std::string>& others,
              ObjectFactory& factory)
{
    static const auto classes = RdmaNamedTypes<Base>::Get(); // once: every switch asks
    std::vector<std::string> known = others;
    for (const auto& [shortName, type] : classes)
    {
        if (shortName == name || type == name)
        {
            factory.SetTypeId(type);
            return {};
        }
        known.push_back(shortName);
    }
    std::string allowed;
    for (const std::string& one : known)
    {
        allowed += (allowed.empty() ? "" : ", ") + one;
    }
    const std::string nearest = rdma::NearestName(name, known);
    return attribute + ": '" + rdma::Shown(name, 60) + "' is unknown; allowed: " + allowed +
           (nearest.empty() ? "" : "; did you mean " + nearest + "?");
}

} // namespace ns3

#endif /* RDMA_NAMED_CLASS_H */
