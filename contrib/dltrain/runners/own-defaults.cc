/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "own-defaults.h"

namespace dltrain
{

std::string
OwnDefaultsText(ns3::TypeId type)
{
    std::string text;
    for (std::size_t i = 0; i < type.GetAttributeN(); ++i)
    {
        const ns3::TypeId::AttributeInformation about = type.GetAttribute(i);
        const std::string set = about.initialValue->SerializeToString(about.checker);
        const std::string own = about.originalInitialValue->SerializeToString(about.checker);
        if (set != own)
        {
            text += "This run sets " + type.GetAttributeFullName(i) + " to " + set +
                    "; the attribute's own default is " + own + "\n";
        }
    }
    return text;
}

} // namespace dltrain
