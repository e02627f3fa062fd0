/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a kind of link calls the things that every kind has: for logs, summaries and reports.
 */
#ifndef RDMA_CORE_LINK_WORDS_H
#define RDMA_CORE_LINK_WORDS_H

namespace rdma
{

struct LinkWords
{
    const char* name;         ///< of the kind itself
    const char* priority;     ///< what frames of a link are divided into, and queues
    const char* held;         ///< why one of those may not send
    const char* control;      ///< what links say to each other, in a filter of captures
    const char* mark;         ///< what a switch sets in a packet that met congestion
    const char* notification; ///< what a receiver then sends back, several of them
    const char* heldShare;    ///< a link is so for a part of the time
    const char* heldLinks;    ///< several links that are so now
    const char* heldInNic;    ///< a message's packets are so where they are made
    const char* heldInSwitch; ///< and on their way
    const char* windowClosed; ///< a sender may not send; transports with credits have another word
    const char* deadlock;     ///< begin of a sentence: "... of these links waits for the next one"
};

inline constexpr LinkWords kEthernetWords{"Ethernet",
                                          "priority",
                                          "",
                                          "pfc",
                                          "ECN",
                                          "CNPs",
                                          "paused",
                                          "links paused by PFC",
                                          "in the sender's NIC, paused by PFC",
                                          "in switches paused by PFC",
                                          "waiting for acknowledgements, as the window was full",
                                          "PFC deadlock, each"};

/// Ethernet whose lossless priorities have credits (CBFC).
inline constexpr LinkWords kEthernetCreditWords{
    "Ethernet",
    "priority",
    "no credits, ",
    "pfc", // of captures: no filter sees a credit update
    "ECN",
    "CNPs",
    "without credits",
    "links without credits",
    "in the sender's NIC, waiting for credits",
    "in switches waiting for credits",
    "waiting for acknowledgements, as the window was full",
    "credit deadlock: no buffer empties, as each"};

inline constexpr LinkWords kInfiniBandWords{"InfiniBand",
                                            "VL",
                                            "no credits, ",
                                            "credits",
                                            "FECN",
                                            "CN packets",
                                            "without credits",
                                            "links without credits",
                                            "in the sender's NIC, waiting for credits",
                                            "in switches waiting for credits",
                                            "waiting for acknowledgements, as the window was full",
                                            "credit deadlock: no buffer empties, as each"};

/// Links between GPUs: flits, with InfiniBand's credits and lanes.
inline constexpr LinkWords kScaleUpWords{"scale-up",
                                         "VL",
                                         "no credits, ",
                                         "credits",
                                         "FECN",
                                         "CN packets",
                                         "without credits",
                                         "links without credits",
                                         "in the sender's GPU, waiting for credits",
                                         "in switches waiting for credits",
                                         "waiting for acknowledgements, as the window was full",
                                         "credit deadlock: no buffer empties, as each"};

} // namespace rdma

#endif // RDMA_CORE_LINK_WORDS_H
