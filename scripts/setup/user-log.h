/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Before a user's own program (scratch/): its NS_LOG statements print, though those of an installed
 * ns-3 are compiled out. Whether they are is a macro of whoever includes ns3/log.h. It is not
 * defined for the other headers: with it ns3/udp-client.h has a member that the library has not.
 */
#ifndef USER_LOG_H
#define USER_LOG_H

#ifndef NS3_LOG_ENABLE
#define NS3_LOG_ENABLE
#include <ns3/log.h>
#undef NS3_LOG_ENABLE
#endif

#endif /* USER_LOG_H */
