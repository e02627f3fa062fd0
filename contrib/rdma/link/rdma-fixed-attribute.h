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

/// Sets an attribute of a T by another accessor. \tparam T has `bool IsRunning() const`
template <class T>
class RdmaRunningAccessor : public AttributeAccessor
{
  public:
    using Hook = void (T::*)();

    /// \param hook what makes a running object act by the new value; null: it cannot
    RdmaRunningAccessor(Ptr<const AttributeAccessor> accessor, Hook hook)
        : m_accessor(std::move(accessor)),
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
        const bool isSet = m_accessor->Set(object, value);
        if (isSet && runs)
        {
            (of->*m_hook)();
        }
        return isSet;
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

    Ptr<const AttributeAccessor> m_accessor;
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
