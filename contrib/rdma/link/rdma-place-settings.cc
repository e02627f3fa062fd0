/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-place-settings.h"

#include "rdma-fixed-attribute.h"

#include "ns3/string.h"

namespace ns3
{

std::string
RdmaPlaceSettings::Add(const std::string& name, const std::string& value)
{
    const std::size_t colons = name.rfind("::");
    TypeId type;
    if (colons == std::string::npos || !TypeId::LookupByNameFailSafe(name.substr(0, colons), &type))
    {
        return name + ": there is no such class; allowed: as ns3::RdmaSwitch::EcnKmin";
    }
    const std::string attribute = name.substr(colons + 2);
    for (TypeId owner = type;; owner = owner.GetParent())
    {
        for (std::size_t i = 0; i < owner.GetAttributeN(); ++i)
        {
            const TypeId::AttributeInformation about = owner.GetAttribute(i);
            if (about.name != attribute)
            {
                continue;
            }
            if (RdmaIsCommon(*about.accessor))
            {
                return name + " is one for a whole fabric, and has no other value at a place";
            }
            const Ptr<AttributeValue> valid = about.checker->CreateValidValue(StringValue(value));
            if (!valid)
            {
                return name + ": '" + value + "' is no valid value";
            }
            m_settings.push_back({owner, i, attribute, valid});
            return {};
        }
        if (!owner.HasParent())
        {
            return type.GetName() + " has no attribute " + attribute;
        }
    }
}

void
RdmaPlaceSettings::Add(const RdmaPlaceSettings& more)
{
    m_settings.insert(m_settings.end(), more.m_settings.begin(), more.m_settings.end());
}

void
RdmaPlaceSettings::Apply(ObjectBase& object) const
{
    const TypeId type = object.GetInstanceTypeId();
    for (const Setting& setting : m_settings)
    {
        if (type == setting.type || type.IsChildOf(setting.type))
        {
            object.SetAttribute(setting.name, *setting.value);
        }
    }
}

RdmaPlaceSettings::Scope::Scope(const RdmaPlaceSettings* settings)
    : m_settings(settings)
{
    if (!settings)
    {
        return;
    }
    for (const Setting& setting : settings->m_settings)
    {
        TypeId type = setting.type;
        m_before.push_back(type.GetAttribute(setting.index).initialValue);
        type.SetAttributeInitialValue(setting.index, setting.value);
    }
}

RdmaPlaceSettings::Scope::~Scope()
{
    for (std::size_t i = m_before.size(); i-- > 0;)
    {
        const Setting& setting = m_settings->m_settings[i];
        TypeId type = setting.type;
        type.SetAttributeInitialValue(setting.index, m_before[i]);
    }
}

} // namespace ns3
