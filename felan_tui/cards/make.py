"""Makes the card for an interaction, by the kind of its request."""

from felan_core.protocol.interactions import (
    ApprovalRequest,
    ConfirmRequest,
    FormRequest,
    InputRequest,
    Interaction,
    SelectRequest,
)
from felan_tui.cards.approval import ApprovalCard
from felan_tui.cards.card import CardContext, Draft, InteractionCard
from felan_tui.cards.confirm import ConfirmCard
from felan_tui.cards.form import FormCard
from felan_tui.cards.input import InputCard
from felan_tui.cards.select import SelectCard

KINDS: dict[type, type[InteractionCard]] = {
    ApprovalRequest: ApprovalCard,
    ConfirmRequest: ConfirmCard,
    SelectRequest: SelectCard,
    InputRequest: InputCard,
    FormRequest: FormCard,
}


def card_for(
    interaction: Interaction, *, around: CardContext | None = None, draft: Draft | None = None
) -> InteractionCard:
    """The card. `draft` is what an earlier card of the same interaction had in its `draft`."""
    return KINDS[type(interaction.request)](interaction, around=around, draft=draft)
