/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_NAMED_TYPES_H
#define RDMA_NAMED_TYPES_H

#include "ns3/object-factory.h"
#include "ns3/type-id.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * The kinds of an abstract class that can be made, by their short names: whoever derives a class
 * from `Base` and registers it has made it known.
 *
 * \tparam Base has GetTypeId and `std::string GetName() const`
 */
template <class Base>
class RdmaNamedTypes
{
  public:
    /// \return (name, name of the TypeId) of all there are, sorted
    static std::vector<std::pair<std::string, std::string>> Get()
    {
        std::vector<std::pair<std::string, std::string>> names;
        for (uint16_t i = 0; i < TypeId::GetRegisteredN(); ++i)
        {
            const TypeId tid = TypeId::GetRegistered(i);
            if (tid.HasConstructor() && tid.IsChildOf(Base::GetTypeId()))
            {
                ObjectFactory factory;
                factory.SetTypeId(tid);
                names.emplace_back(factory.Create<Base>()->GetName(), tid.GetName());
            }
        }
        std::sort(names.begin(), names.end());
        return names;
    }

    /// \param name short, or of the TypeId. \param [out] ok whether there is one
    static TypeId Lookup(const std::string& name, bool& ok)
    {
        for (const auto& [known, type] : Get())
        {
            if (known == name || type == name)
            {
                ok = true;
                return TypeId::LookupByName(type);
            }
        }
        ok = false;
        return Base::GetTypeId();
    }
};

} // namespace ns3

#endif /* RDMA_NAMED_TYPES_H */
