/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Where the releases of ns-3 that this module builds with differ: 3.37 (Debian 12) and 3.43
 * (Debian 13).
 */
#ifndef NS3_COMPAT_H
#define NS3_COMPAT_H

#include "ns3/enum.h"
#include "ns3/nstime.h"
#include "ns3/simulator-impl.h"

#include <utility>

namespace ns3
{

/// What SimulatorImpl::Stop(delay) returns: nothing in 3.37, the EventId of the stop in 3.43.
/// `static_cast<StopResult>(id)` is right for both.
using StopResult = decltype(std::declval<SimulatorImpl&>().Stop(std::declval<const Time&>()));

#if __has_include("ns3/demangle.h") // 3.43: EnumValue and EnumChecker have the type of the values
template <typename E>
using EnumCheckerOf = EnumChecker<E>;

template <typename E, class T>
Ptr<const AttributeAccessor>
MakeEnumMemberAccessor(E T::*member)
{
    return MakeEnumAccessor<E>(member);
}
#else
template <typename E>
using EnumCheckerOf = EnumChecker;

template <typename E, class T>
Ptr<const AttributeAccessor>
MakeEnumMemberAccessor(E T::*member)
{
    return MakeEnumAccessor(member);
}
#endif

} // namespace ns3

#endif /* NS3_COMPAT_H */
