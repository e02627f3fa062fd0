/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PLACE_SETTINGS_H
#define RDMA_PLACE_SETTINGS_H

#include "ns3/attribute.h"
#include "ns3/object-base.h"
#include "ns3/ptr.h"
#include "ns3/type-id.h"

#include <cstddef>
#include <string>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * Attributes of one place of a fabric: a switch, a host, or the end of a cable.
 *
 * A place is made of several objects: a switch of itself and its load balancer, an end of its port
 * and (at a host) its NIC. Each takes the attributes that its class has (Apply). Objects that
 * another one makes by itself, as a switch its load balancer, take theirs as defaults (Scope): so a
 * class that registers itself can be set at a place without a line about it here.
 */
class RdmaPlaceSettings
{
  public:
    /**
     * Adds an attribute; a later one wins over an earlier one of the same name.
     * \param name as of Config::SetDefault, "ns3::RdmaSwitch::EcnKmin"
     * \param value as text \return what is wrong, or nothing
     */
    std::string Add(const std::string& name, const std::string& value);

    /// Adds all of another one, which win over those that are there.
    void Add(const RdmaPlaceSettings& more);

    bool IsEmpty() const
    {
        return m_settings.empty();
    }

    /// Sets the attributes that the object's class has.
    void Apply(ObjectBase& object) const;

    /// While it lives, these are the defaults of their attributes. Scopes nest: the inner one wins.
    class Scope
    {
      public:
        /// \param settings null: none
        explicit Scope(const RdmaPlaceSettings* settings);
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

      private:
        const RdmaPlaceSettings* m_settings;
        std::vector<Ptr<const AttributeValue>> m_before; //!< of each setting
    };

  private:
    struct Setting
    {
        TypeId type; //!< the class whose attribute it is
        std::size_t index;
        std::string name; //!< "EcnKmin"
        Ptr<const AttributeValue> value;
    };

    std::vector<Setting> m_settings;
};

} // namespace ns3

#endif /* RDMA_PLACE_SETTINGS_H */
