/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_LINK_RETRY_H
#define RDMA_LINK_RETRY_H

#include "rdma-frame.h"

#include "ns3/rdma-event.h"

#include <cstdint>

namespace ns3
{

class RdmaPort;

/**
 * \ingroup rdma
 * Link-level retry of an Ethernet link (Ultra Ethernet 1.0, 5.1: LLR): the part of a port that
 * numbers frames, keeps them until the peer has acknowledged them, and sends them again (go-back-N)
 * when the peer says that one is missing or has bit errors. A frame with bit errors costs a round
 * trip of its link, and the transport sees delay instead of loss.
 *
 * Sender: a frame takes the next number, and a copy of it goes into the replay buffer. When that is
 * full nothing new is sent. An ACK frees what it names and all before it. A NACK does, too, and all
 * behind it is sent again, before anything new. So does the replay timer, which restarts with every
 * ACK that frees something.
 *
 * Receiver: takes the frame that has the next number and no bit errors; drops all others. Of the
 * first one that is missing or bad it tells by a NACK, and then nothing until that one has come; if
 * that one is bad again, by another NACK. ACKs are cumulative, `spacingBytes` of line time apart.
 *
 * Source: opencomputeproject/SAI@b0c403e, doc/LLR/SAI-Link_Layer_Retry.md, by the UEC's management
 * working group: numbers in the preamble (so a frame is as long as without LLR), one cumulative ACK
 * or NACK in a control ordered set, go-back-N, silence after a NACK, the replay timer, bounds of
 * the buffer, spacing of 2,048 B. Control ordered sets have 8 B: doc/CBFC of the same repository
 * (9ca8312).
 *
 * Assumed: an ordered set waits for the frame that is being sent, and takes 8 byte times; numbers
 * of frames with bit errors are read right; MAC control frames are not numbered; a frame's age has
 * no bound; memory of the replay buffer is the MAC's, not the switch's shared buffer. After `limit`
 * replays in vain the sender sends nothing (FLUSH with BLOCK) until the cable is whole, or the link
 * has gone down and come up. The start of the protocol (INIT, INIT_ECHO) is over
 * before the first frame.
 *
 * When a switch is told that the link is down, both ends begin anew when it comes up, and what they
 * had not delivered is lost: the host at the other end, which is told nothing, too. Of a cable that
 * is cut for so short a time that nobody notices, all that was lost is sent again.
 *
 * Law: the user of a port gets the frames that the peer has sent, each once and in order, but for
 * those that a link going down takes.
 */
class RdmaLinkRetry
{
  public:
    struct Config
    {
        uint32_t bufferBytes{0};  //!< replay buffer; a frame is started while it holds less
        int64_t timerPs{0};       //!< replay timer
        uint32_t limit{0};        //!< replays in a row that free nothing; 0: no limit
        int64_t spacingPs{0};     //!< between ACKs
        uint32_t largestFrame{0}; //!< bytes, Ethernet header to FCS
    };

    /// \param port outlives this
    RdmaLinkRetry(const Config& config, RdmaPort& port);
    ~RdmaLinkRetry();

    const Config& GetConfig() const
    {
        return m_config;
    }

    /// \return frames in the replay buffer
    uint32_t GetOutstanding() const
    {
        return static_cast<uint16_t>(m_next - m_first);
    }

    /// The link has another rate: a replay timer that is running ends no earlier than a new one of
    /// its start would. \param timerPs, spacingPs as of Config
    void SetTimes(int64_t timerPs, int64_t spacingPs);

    /// \return whether nothing is sent any more, after `limit` replays in vain
    bool HasGivenUp() const
    {
        return m_blocked;
    }

    /// Frames go on to the user this much after they came whole (a switch's pipeline).
    void SetLatency(int64_t ps)
    {
        m_latency = ps;
    }

    int64_t GetLatency() const
    {
        return m_latency;
    }

    /// The transmitter is idle. \return the next frame, out of its queue or again; null: none
    RdmaFrame* Next(int64_t now);
    /// A frame, not of MAC control, starts to be sent: it gets its number. \return whether it is
    /// new, not sent again
    bool OnSent(RdmaFrame* frame, int64_t now);
    /// Any frame has been started: if some are to be sent again, an event for when it has gone.
    void GoOn();
    /// A frame is here, whole.
    void Receive(RdmaFrame* frame, int64_t now);
    /// A frame with bit errors, or a word, goes; the peer sends it again, or another word.
    void DropBad(RdmaFrame* frame);
    /// An ACK or NACK starts to be sent. What it says holds then, not when it was queued.
    void FillWord(RdmaFrame* frame, int64_t now);
    void OnWord(const RdmaFrame& frame, int64_t now);
    /// A cut that nobody knew of is over.
    void OnCableWhole(int64_t now);
    /// The link goes down. Frames that came before that go on to the user.
    void Forget();

  private:
    /// Room for numbers of 16 bits: half of them.
    static constexpr uint32_t MAX_OUTSTANDING = 32767;
    /// Bits of a word's `flags`.
    static constexpr uint8_t NACK = 1;

    bool IsFull() const
    {
        return m_bytes >= m_config.bufferBytes || GetOutstanding() >= MAX_OUTSTANDING;
    }

    void StartReplay(int64_t now);
    void SetDeadline(int64_t at);
    /// \return whether a frame is the next one, and good
    bool Accept(RdmaFrame* frame);
    void PassOn(RdmaFrame* frame, int64_t now);
    void Acknowledge(int64_t now);
    void QueueWord(int64_t now);
    void OnDeadline();
    void OnSpacing();
    void OnPassing();

    Config m_config;
    RdmaPort& m_port;

    // Sender
    RdmaFrameList m_kept;               //!< the replay buffer, by number from m_first on
    uint64_t m_bytes{0};                //!< in it, as the line counts them
    const RdmaFrame* m_replay{nullptr}; //!< next one that is sent again; null: no replay
    uint16_t m_first{0};                //!< number of the oldest frame that is not acknowledged
    uint16_t m_next{0};                 //!< number of the next new frame
    bool m_again{false};                //!< Next has given out one that is sent again
    bool m_blocked{false};              //!< given up: nothing is sent
    uint32_t m_inVain{0};               //!< replays since an ACK has freed something
    bool m_deadlinePending{false};
    int64_t m_deadline{0}; //!< of the replay timer, if the replay buffer is not empty, ps

    // Receiver
    uint16_t m_expected{0};
    bool m_wordQueued{false};
    bool m_nacked{false};  //!< a NACK is told or will be, and the frame has not come since
    bool m_toldNack{true}; //!< it is told
    bool m_untold{false};  //!< frames have come that no ACK has told of
    bool m_spacingPending{false};
    int64_t m_nextWord{0}; //!< no ACK before, ps
    int64_t m_latency{0};
    RdmaFrameList m_passing; //!< on their way to the user

    RdmaTimer<RdmaLinkRetry, &RdmaLinkRetry::OnDeadline> m_deadlineEvent;
    RdmaTimer<RdmaLinkRetry, &RdmaLinkRetry::OnSpacing> m_spacingEvent;
    RdmaTimer<RdmaLinkRetry, &RdmaLinkRetry::OnPassing> m_passingEvent;
};

} // namespace ns3

#endif /* RDMA_LINK_RETRY_H */
