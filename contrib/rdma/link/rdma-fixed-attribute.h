/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Attributes of objects that run: Config::Set reaches them at any time, so each either acts at once
 * or says that it cannot.
 */
#ifndef RDMA_FIXED_ATTRIBUTE_H
#define RDMA_FIXED_ATTRIBUTE_H

#include "ns3/abort.h"
#include "ns3/attribute.h"
#include "ns3/object-base.h"
#include "ns3/type-id.h"

#include <string>
#include <utility>

namespace ns3
{

/// Sets an attribute by another accessor.
class RdmaRuledAccessor : public AttributeAccessor
{
  public:
    /// \param common RdmaIsCommon
    RdmaRuledAccessor(Ptr<const AttributeAccessor> accessor, bool common)
        : m_accessor(std::move(accessor)),
          m_common(common)
    {
    }

    bool Set(ObjectBase* object, const AttributeValue& value) const override
    {
        return m_accessor->Set(object, value);
    }

    bool Get(const ObjectBase* object, AttributeValue& value) const override
    {
        return m_accessor->Get(object, value);
    }

    bool HasGetter() const override
    {
        return m_accessor->HasGetter();
    }

    bool HasSetter() const override
    {
        return m_accessor->HasSetter();
    }

    bool IsCommon() const
    {
        return m_common;
    }

  private:
    Ptr<const AttributeAccessor> m_accessor;
    bool m_common;
};

/// \return whether the attribute is one for a whole fabric, so that no place of it has its own
/// value
inline bool
RdmaIsCommon(const AttributeAccessor& accessor)
{
    const auto* ruled = dynamic_cast<const RdmaRuledAccessor*>(&accessor);
    return ruled && ruled->IsCommon();
}

/// Of an attribute that is one for a whole fabric: a frame's sizes, and what both ends of a queue
/// pair must agree upon, whichever rank has them.
inline Ptr<const AttributeAccessor>
RdmaCommon(Ptr<const AttributeAccessor> accessor)
{
    return Create<RdmaRuledAccessor>(std::move(accessor), true);
}

/// Sets an attribute of a T by another accessor. \tparam T has `bool IsRunning() const`
template <class T>
class RdmaRunningAccessor : public RdmaRuledAccessor
{
  public:
    using Hook = void (T::*)();

    /// \param hook what makes a running object act by the new value; null: it cannot
    RdmaRunningAccessor(Ptr<const AttributeAccessor> accessor, Hook hook)
        : RdmaRuledAccessor(accessor, RdmaIsCommon(*accessor)),
          m_hook(hook)
    {
    }

    bool Set(ObjectBase* object, const AttributeValue& value) const override
    {
        T* const of = dynamic_cast<T*>(object);
        const bool runs = of && of->IsRunning();
        NS_ABORT_MSG_IF(runs && !m_hook,
                        GetName(*object) << " is read when a fabric is made, so a change now would "
                                            "have no effect; allowed: before Finish() or Build(), "
                                            "by the helper or Config::SetDefault");
        const bool isSet = RdmaRuledAccessor::Set(object, value);
        if (isSet && runs)
        {
            (of->*m_hook)();
        }
        return isSet;
    }

  private:
    /// "ns3::RdmaSwitch::Alpha"
    std::string GetName(const ObjectBase& object) const
    {
        for (TypeId type = object.GetInstanceTypeId();; type = type.GetParent())
        {
            for (std::size_t i = 0; i < type.GetAttributeN(); ++i)
            {
                if (type.GetAttribute(i).accessor == this)
                {
                    return type.GetAttributeFullName(i);
                }
            }
            if (!type.HasParent())
            {
                return type.GetName();
            }
        }
    }

    Hook m_hook;
};

/// Of an attribute that is read before the first event: a running object refuses it.
template <class T>
Ptr<const AttributeAccessor>
RdmaFixed(Ptr<const AttributeAccessor> accessor)
{
    return Create<RdmaRunningAccessor<T>>(std::move(accessor), nullptr);
}

/// Of an attribute that a running object acts by once `hook` was called.
template <class T>
Ptr<const AttributeAccessor>
RdmaLive(Ptr<const AttributeAccessor> accessor, void (T::*hook)())
{
    return Create<RdmaRunningAccessor<T>>(std::move(accessor), hook);
}

} // namespace ns3

#endif /* RDMA_FIXED_ATTRIBUTE_H */
