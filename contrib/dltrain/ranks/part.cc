/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "part.h"

#include "rank-link.h"
#include "scenarios/launch/part.h"
#include "socket-part.h"

#include <dlfcn.h>
#include <stdexcept>

namespace dltrain
{

void
LoadPart(const std::string& name)
{
    const std::string library = scenario::PartLibrary(name);
    // Never closed: its classes are ns-3's until the program ends.
    if (!::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL))
    {
        throw std::runtime_error("the part " + name + " cannot be loaded: " + ::dlerror() +
                                 "; type: " + scenario::PartCommand(name));
    }
}

template <>
RankLink*&
Part<RankLink>::Current()
{
    static RankLink* current = nullptr;
    return current;
}

template <>
SocketPart*&
Part<SocketPart>::Current()
{
    static SocketPart* current = nullptr;
    return current;
}

} // namespace dltrain
